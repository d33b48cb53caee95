"""Detection heads: anchors, box coding, focal and IoU losses, NMS, RoI pooling, YOLO, matching."""

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.vision import ops

rng = np.random.RandomState(8)


def boxes(count, scale=32.0):
    low = rng.uniform(0, scale / 2, (count, 2))
    return paddle.to_tensor(
        np.concatenate([low, low + rng.uniform(2, scale / 2, (count, 2))], 1).astype("float32")
    )


def areas(b):
    return (b[:, 2] - b[:, 0]).clip(0) * (b[:, 3] - b[:, 1]).clip(0)


def overlaps(a, b):
    low = paddle.maximum(a[:, None, :2], b[None, :, :2])
    high = paddle.minimum(a[:, None, 2:], b[None, :, 2:])
    inner = (high - low).clip(min=0).prod(-1)
    return inner / (areas(a).unsqueeze(1) + areas(b)[None] - inner + 1e-9)


def encode(anchors, targets):
    size = anchors[:, 2:] - anchors[:, :2]
    center = anchors[:, :2] + size * 0.5
    wanted = targets[:, 2:] - targets[:, :2]
    return paddle.concat(
        [(targets[:, :2] + wanted * 0.5 - center) / size, paddle.log(wanted / size)], 1
    )


def decode(anchors, deltas):
    size = anchors[:, 2:] - anchors[:, :2]
    center = anchors[:, :2] + size * 0.5 + deltas[:, :2] * size
    size = size * paddle.exp(paddle.clip(deltas[:, 2:], max=4.0))
    out = paddle.zeros_like(anchors)
    out[:, 0::2] = paddle.stack([center[:, 0] - size[:, 0] / 2, center[:, 0] + size[:, 0] / 2], 1)
    out[:, 1::2] = paddle.stack([center[:, 1] - size[:, 1] / 2, center[:, 1] + size[:, 1] / 2], 1)
    out[:, :2] *= 1.0
    out[..., 0] -= 0.5
    return out


class Head(nn.Layer):
    def __init__(self, classes=4, anchors=2):
        super().__init__()
        self.classes = classes
        self.body = nn.Sequential(
            nn.Conv2D(3, 8, 3, 2, 1),
            nn.GroupNorm(2, 8),
            nn.Mish(),
            nn.Conv2D(8, 8, 3, 2, 1),
            nn.ReLU(),
        )
        bias = nn.initializer.Constant(float(-np.log((1 - 0.01) / 0.01)))
        self.score = nn.Conv2D(
            8, classes * anchors, 3, padding=1, bias_attr=paddle.ParamAttr(initializer=bias)
        )
        self.box = nn.Conv2D(8, 4 * anchors, 3, padding=1)
        self.scale = self.create_parameter([1], default_initializer=nn.initializer.Constant(1.0))

    def forward(self, x):
        f = self.body(x)
        n = f.shape[0]
        scores = self.score(f).transpose([0, 2, 3, 1]).reshape([n, -1, self.classes])
        deltas = self.box(f).transpose([0, 2, 3, 1]).reshape([n, -1, 4]) * self.scale
        return scores, deltas, f


def grid_anchors(side, stride):
    shift = (paddle.arange(side, dtype="float32") + 0.5) * stride
    y, x = paddle.meshgrid(shift, shift)
    center = paddle.stack([x, y, x, y], axis=-1).reshape([-1, 1, 4])
    half = paddle.to_tensor([[-4.0, -4, 4, 4], [-8.0, -6, 8, 6]])
    return (center + half).reshape([-1, 4])


net = fixed(Head())
show("bias", net.score.bias)
anchors = grid_anchors(8, 4)
optimizer = paddle.optimizer.Adadelta(0.5, parameters=net.parameters())
for step in range(5):
    images = paddle.to_tensor(rng.randn(2, 3, 32, 32).astype("float32"))
    scores, deltas, features = net(images)
    loss = paddle.zeros([1])
    for i in range(2):
        truth, kinds = boxes(3), paddle.to_tensor(rng.randint(0, 4, 3))
        iou = overlaps(anchors, truth)
        best, index = iou.max(axis=1), iou.argmax(axis=1)
        positive = best > 0.3
        target = paddle.where(
            positive.unsqueeze(-1), F.one_hot(paddle.gather(kinds, index), 4), paddle.zeros([1])
        )
        loss += F.sigmoid_focal_loss(
            scores[i],
            target,
            normalizer=paddle.clip(positive.astype("float32").sum(), 1.0).reshape([1]),
            reduction="sum",
        )
        if positive.any():
            chosen = paddle.nonzero(positive).flatten()
            wanted = encode(anchors[positive], truth[index][positive])
            loss = loss + F.smooth_l1_loss(paddle.gather(deltas[i], chosen), wanted, delta=1.0 / 9)
            found = decode(paddle.gather(anchors, chosen), paddle.gather(deltas[i], chosen))
            matched = paddle.gather(truth, paddle.gather(index, chosen))
            inner = (
                paddle.minimum(found[:, 2:], matched[:, 2:])
                - paddle.maximum(found[:, :2], matched[:, :2])
            ).clip(0)
            inner = inner[:, 0] * inner[:, 1]
            loss = loss + (1 - inner / (areas(found) + areas(matched) - inner + 1e-6)).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    show("loss", loss)
scores, deltas, features = net(images)
final, kinds = decode(anchors, deltas[0]).detach(), scores[0].argmax(-1)
values = F.sigmoid(scores[0]).max(-1).detach()
show("nms", ops.nms(final, 0.3, values, kinds, [0, 1, 2, 3], top_k=10))
show("plain", ops.nms(boxes(20), 0.5))
rois, counts = boxes(5), paddle.to_tensor([2, 3], "int32")
show(
    "align",
    ops.roi_align(features, rois, counts, 3, spatial_scale=0.25, sampling_ratio=2, aligned=True),
)
show("pool", ops.roi_pool(features, rois, counts, (2, 3), 0.25))
show("psroi", ops.psroi_pool(features, rois, counts, 2, 0.25))
show(
    "prior",
    ops.prior_box(
        features,
        images,
        min_sizes=[4.0],
        max_sizes=[8.0],
        aspect_ratios=[2.0],
        flip=True,
        clip=True,
    ),
)
show("coder", ops.box_coder(boxes(4), [0.1, 0.1, 0.2, 0.2], boxes(3), box_normalized=False))
yolo = paddle.to_tensor(rng.randn(1, 18, 4, 4).astype("float32"))
show(
    "yolo", ops.yolo_box(yolo, paddle.to_tensor([[64, 64]], "int32"), [10, 13, 16, 30], 4, 0.01, 16)
)
show(
    "levels",
    ops.distribute_fpn_proposals(
        boxes(6, 400.0), 2, 5, 4, 224, rois_num=paddle.to_tensor([6], "int32")
    ),
)
deform = fixed(ops.DeformConv2D(3, 4, 3, padding=1))
offset = paddle.to_tensor(rng.randn(1, 18, 6, 6).astype("float32"))
show(
    "deform",
    deform(
        paddle.to_tensor(rng.randn(1, 3, 6, 6).astype("float32")),
        offset,
        paddle.ones([1, 9, 6, 6]) * 0.5,
    ),
)
