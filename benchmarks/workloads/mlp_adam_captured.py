from frameworks import perceptron

about = "captured training step of a 784-256-256-10 network at batch 64, Adam, beside eager ones"
goal = 0.5
paddle, torch = perceptron((784, 256, 256, 10), 64, "Adam", 0.001, captured=True)
