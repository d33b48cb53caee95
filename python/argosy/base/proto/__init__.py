"""Messages of Paddle's Program files for Python programs that build or read them."""
