"""python setup.py install, then `import custom_sine_setup_ops`."""

from argosy.utils.cpp_extension import CppExtension, setup

setup(name="custom_sine_setup_ops", ext_modules=CppExtension(sources=["sine.cc"]))
