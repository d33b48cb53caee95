from frameworks import perceptron

about = "captured training step of a 16-16-16-2 network at batch 8, SGD, beside eager ones"
goal = 0.2
paddle, torch = perceptron((16, 16, 16, 2), 8, "SGD", 0.01, captured=True)
