from frameworks import perceptron

about = "training step of a 784-256-256-10 network at batch 64, Adam"
goal = 0.6
paddle, torch = perceptron((784, 256, 256, 10), 64, "Adam", 0.001)
