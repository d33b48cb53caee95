"""Backbones of PaddleClas on random images."""

import importlib.util
import sys

import numpy as np

REQUIREMENTS = (
    "paddleclas==2.6.0 prettytable wcwidth ujson opencv-python-headless==4.10.0.84 tqdm pyyaml"
    " easydict scikit-learn==1.4.2 joblib threadpoolctl cloudpickle requests urllib3 idna"
    " charset-normalizer certifi six visualdl==2.5.3 protobuf==3.20.3 flask werkzeug jinja2 MarkupSafe"
    " itsdangerous click blinker flask-babel babel pytz packaging matplotlib==3.8.4 cycler kiwisolver"
    " pyparsing python-dateutil fonttools contourpy onnx==1.16.0 psutil rarfile filelock"
    " pandas==2.2.2 tzdata bce-python-sdk pycryptodome future"
    " typing_extensions"
).split()
MODELS = (
    "ResNet18 ResNet50 MobileNetV1 MobileNetV2 MobileNetV3_small_x1_0 PPLCNet_x0_5 PPLCNetV2_base"
    " ShuffleNetV2_x0_5 GhostNet_x0_5 SqueezeNet1_1 VGG11 DenseNet121 EfficientNetB0 RepVGG_A0"
    " HRNet_W18_C Res2Net50_26w_4s SE_ResNet18_vd DeiT_tiny_patch16_224 SwinTransformer_tiny_patch4_window7_224"
    " ConvNeXt_tiny LeViT_128S MobileViT_XXS CvT_13_224 PVT_V2_B0 MixNet_S ReXNet_1_0 DLA34 HarDNet68 ESNet_x0_5"
    " PPHGNet_tiny TNT_small CSWinTransformer_tiny_224 AlexNet DarkNet53 GoogLeNet InceptionV3 Xception41 ResNeXt50_32x4d"
).split()
LARGE = {"InceptionV3": 299, "Xception41": 299}
WIDE = ("Transformer", "DeiT", "ConvNeXt", "LeViT", "CvT", "PVT", "TNT", "AlexNet", "MobileViT")


def job(paddle, model, dtype):
    folder = importlib.util.find_spec("paddleclas").submodule_search_locations[0]
    sys.path.insert(0, folder)  # its own __init__ imports what serves its command line
    from ppcls.arch import backbone
    from ppcls.utils import logger

    logger.init_logger()

    size = LARGE.get(model, 224 if any(word in model for word in WIDE) else 64)
    layer = getattr(backbone, model)(class_num=10)
    for part in layer.sublayers():
        if type(part).__name__ in ("Dropout", "DropPath", "Dropout2D"):
            part.p = part.drop_prob = 0.0
    draw = np.random.RandomState(0)
    images = draw.normal(size=(8, 4, 3, size, size)).astype(dtype)
    labels = draw.randint(0, 10, (8, 4)).astype("int64")

    def loss(i):
        found = layer(paddle.to_tensor(images[i % 8]))
        found = found if isinstance(found, (list, tuple)) else [found]
        label = paddle.to_tensor(labels[i % 8])
        return sum(paddle.nn.functional.cross_entropy(logits, label) for logits in found)

    return layer, loss, 0.01
