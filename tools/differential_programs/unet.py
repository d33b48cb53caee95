"""Segmentation with a U-Net: dice and focal losses, several scales, metrics, hooks, freezing."""

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn

rng = np.random.RandomState(11)


class ConvBNReLU(nn.Sequential):
    def __init__(self, inputs, outputs, kernel=3, **kwargs):
        super().__init__(
            nn.Conv2D(inputs, outputs, kernel, padding="same", bias_attr=False, **kwargs),
            nn.BatchNorm(outputs, act="relu"),
        )


class UNet(nn.Layer):
    def __init__(self, classes=3):
        super().__init__()
        sizes = [4, 8, 16]
        self.down = nn.LayerList()
        inputs = 3
        for size in sizes:
            self.down.append(
                nn.Sequential(ConvBNReLU(inputs, size), ConvBNReLU(size, size, dilation=2))
            )
            inputs = size
        self.pool = nn.MaxPool2D(2, 2)
        self.up = nn.LayerList([ConvBNReLU(16 + 8, 8), ConvBNReLU(8 + 4, 4)])
        self.attention = nn.LayerDict(
            {"gate": nn.Conv2D(8, 1, 1), "mix": nn.Conv2D(4, 4, 3, padding=[1, 1], groups=2)}
        )
        self.heads = nn.LayerList([nn.Conv2D(8, classes, 1), nn.Conv2D(4, classes, 1)])

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(x if i == 0 else self.pool(x))
            kept.append(x)
        outputs = []
        for i, block in enumerate(self.up):
            skip = kept[-2 - i]
            x = F.interpolate(x, paddle.shape(skip)[2:], mode="bilinear", align_corners=bool(i))
            x = block(paddle.concat([x, skip], axis=1))
            if i == 0:
                x = x * F.sigmoid(self.attention["gate"](x))
            else:
                x = F.hardswish(self.attention["mix"](x)) + x
            outputs.append(self.heads[i](x))
        return outputs


net = fixed(UNet())
show("repr", repr(net))
seen = []
hook = net.down[0].register_forward_post_hook(
    lambda layer, x, y: seen.append([len(x), list(y.shape)])
)
before = net.heads[1].register_forward_pre_hook(lambda layer, x: (x[0] * 1.5,))
for parameter in net.down[0][0].parameters():
    parameter.stop_gradient = True
optimizer = paddle.optimizer.Lamb(
    0.01, parameters=[p for p in net.parameters() if not p.stop_gradient]
)


def dice(logits, labels):
    return F.dice_loss(F.softmax(logits.transpose([0, 2, 3, 1])), labels.unsqueeze(-1))


for step in range(6):
    images = paddle.to_tensor(rng.rand(2, 3, 20, 24).astype("float32"))
    labels = paddle.to_tensor(rng.randint(0, 3, (2, 20, 24)))
    outputs = net(images)
    loss = 0
    for logits, weight in zip(outputs, (0.4, 1.0)):
        logits = F.interpolate(logits, [20, 24], mode="nearest")
        entropy = F.cross_entropy(
            logits, labels, weight=paddle.to_tensor([1.0, 2.0, 0.5]), axis=1, ignore_index=255
        )
        focal = F.sigmoid_focal_loss(
            logits, F.one_hot(labels, 3).transpose([0, 3, 1, 2]), gamma=1.5, reduction="mean"
        )
        loss = loss + weight * (entropy + dice(logits, labels) + focal)
    loss.backward()
    optimizer.step()
    optimizer.clear_gradients()
    show("loss", loss)
    if step == 3:
        hook.remove()
        before.remove()
show("seen", seen)
show("statistics", [net.down[1][0][1]._mean, net.down[1][0][1]._variance])
net.eval()
show("eval", net(images)[-1])
found = paddle.argmax(net(images)[-1], axis=1)
matrix = paddle.bincount(
    (
        labels * 3
        + F.interpolate(found.unsqueeze(1).astype("float32"), [20, 24]).squeeze(1).astype("int64")
    ).flatten(),
    minlength=9,
)
show("confusion", matrix.reshape([3, 3]))
