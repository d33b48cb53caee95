"""Networks of PaddleSeg on random images."""

import numpy as np

REQUIREMENTS = (
    "paddleseg==2.8.0 prettytable wcwidth filelock opencv-python-headless==4.10.0.84 tqdm pyyaml"
    " scikit-learn==1.4.2 joblib threadpoolctl six visualdl==2.5.3 protobuf==3.20.3 requests urllib3"
    " idna charset-normalizer certifi flask werkzeug jinja2 MarkupSafe itsdangerous click blinker"
    " flask-babel babel pytz packaging matplotlib==3.8.4 cycler kiwisolver pyparsing python-dateutil"
    " fonttools contourpy onnx==1.16.0 psutil rarfile cloudpickle pandas==2.2.2 tzdata bce-python-sdk"
    " pycryptodome future"
    " typing_extensions"
).split()
MODELS = (
    "UNet BiSeNetV2 FastSCNN ENet ESPNetV2 DeepLabV3P PSPNet FCN STDCSeg SegFormer_B0 AttentionUNet UNetPlusPlus PPLiteSeg"
).split()


def job(paddle, model, dtype):
    from paddleseg import models
    from paddleseg.models import backbones

    wants = {
        "DeepLabV3P": lambda: dict(backbone=backbones.ResNet50_vd()),
        "PSPNet": lambda: dict(backbone=backbones.ResNet50_vd()),
        "FCN": lambda: dict(backbone=backbones.HRNet_W18()),
        "STDCSeg": lambda: dict(backbone=backbones.STDC1()),
        "PPLiteSeg": lambda: dict(backbone=backbones.STDC1()),
        "UNetPlusPlus": lambda: dict(in_channels=3),
    }.get(model, dict)  # fmt: skip
    layer = getattr(models, model)(num_classes=4, **wants())
    for part in layer.sublayers():
        if type(part).__name__ in ("Dropout", "DropPath", "Dropout2D"):
            part.p = part.drop_prob = 0.0
    draw = np.random.RandomState(0)
    images = draw.normal(size=(4, 2, 3, 64, 64)).astype(dtype)
    labels = draw.randint(0, 4, (4, 2, 64, 64)).astype("int64")

    def loss(i):
        label = paddle.to_tensor(labels[i % 4])
        total = 0
        for logits in layer(paddle.to_tensor(images[i % 4])):
            if logits.shape[2:] != label.shape[1:]:
                logits = paddle.nn.functional.interpolate(logits, label.shape[1:], mode="bilinear")
            total = total + paddle.nn.functional.cross_entropy(logits, label, axis=1)
        return total

    return layer, loss, 0.01
