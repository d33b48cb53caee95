from frameworks import classes, fill_paddle, fill_torch, train_paddle, train_torch, values

about = "ResNet-18 training step at 112 x 112, batch 8, Momentum"
goal = 1.1


def paddle(p):
    layer = p.vision.models.resnet18(num_classes=10)
    fill_paddle(layer)
    layer.fc.bias.set_value(layer.fc.bias * 0)
    optimizer = p.optimizer.Momentum(0.01, momentum=0.9, parameters=layer.parameters())
    x, y = p.to_tensor(values(8, 3, 112, 112)), p.to_tensor(classes(8, 10))
    return train_paddle(p, layer, optimizer, lambda: p.nn.functional.cross_entropy(layer(x), y))


def block(t, inputs, outputs, stride):
    """A basic block; children stand in the order in which Paddle keeps its parameters."""
    nn = t.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outputs)
            self.downsample = None
            if stride != 1:
                self.downsample = nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
                )

        def forward(self, x):
            relu = nn.functional.relu
            y = self.bn2(self.conv2(relu(self.bn1(self.conv1(x)))))
            return relu(y + (x if self.downsample is None else self.downsample(x)))

    return Block()


def torch(t):
    nn = t.nn
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    layers += [nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width in (64, 128, 256, 512):
        layers += [block(t, inputs, width, 1 if width == inputs else 2), block(t, width, width, 1)]
        inputs = width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)]
    module = nn.Sequential(*layers)
    fill_torch(t, module)
    optimizer = t.optim.SGD(module.parameters(), lr=0.01, momentum=0.9)
    x, y = t.from_numpy(values(8, 3, 112, 112)), t.from_numpy(classes(8, 10))
    return train_torch(t, module, optimizer, lambda: nn.functional.cross_entropy(module(x), y))
