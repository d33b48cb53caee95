from frameworks import perceptron

about = "training step of a 16-16-16-2 network at batch 8, SGD"
goal = 0.35
paddle, torch = perceptron((16, 16, 16, 2), 8, "SGD", 0.01)
