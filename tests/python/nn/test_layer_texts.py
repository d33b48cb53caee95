"""What layers print, and what their parameters are called."""

import pytest

import argosy as paddle
from argosy import nn

# (constructor, what it prints)
TEXTS = [
    ("nn.Linear(2,3)", "Linear(in_features=2, out_features=3, dtype=float32)"),
    (
        'nn.Linear(2,3,bias_attr=False,name="q")',
        "Linear(in_features=2, out_features=3, dtype=float32, name=q)",
    ),
    (
        "nn.Bilinear(2,3,4)",
        "Bilinear(in1_features=2, in2_features=3, out_features=4, dtype=float32)",
    ),
    ("nn.Identity()", "Identity()"),
    ("nn.Flatten()", "Flatten()"),
    ("nn.Unflatten(1,[2,3])", "Unflatten(axis=1, shape=[2, 3])"),
    (
        "nn.Embedding(5,3,padding_idx=-1)",
        "Embedding(5, 3, padding_idx=-1, sparse=False, scale_grad_by_freq=False)",
    ),
    ("nn.Dropout(0.3)", "Dropout(p=0.3, axis=None, mode=upscale_in_train, inplace=False)"),
    (
        'nn.Dropout(0.3,axis=0,mode="downscale_in_infer",name="n")',
        "Dropout(p=0.3, axis=0, mode=downscale_in_infer, name=n, inplace=False)",
    ),
    ("nn.Dropout2D()", "Dropout2D(p=0.5, data_format=NCHW)"),
    ("nn.Dropout3D()", "Dropout3D(p=0.5, data_format=NCDHW)"),
    ("nn.AlphaDropout()", "AlphaDropout(p=0.5)"),
    ("nn.FeatureAlphaDropout()", "FeatureAlphaDropout(p=0.5)"),
    ("nn.Pad1D(1)", "Pad1D(padding=[1, 1], mode=constant, value=0.0, data_format=NCL)"),
    (
        'nn.Pad2D([1,2,3,4],mode="reflect",name="x")',
        "Pad2D(padding=[1, 2, 3, 4], mode=reflect, value=0.0, data_format=NCHW, name=x)",
    ),
    (
        "nn.Pad3D(1)",
        "Pad3D(padding=[1, 1, 1, 1, 1, 1], mode=constant, value=0.0, data_format=NCDHW)",
    ),
    ("nn.ZeroPad1D(2)", "ZeroPad1D(padding=[2, 2], mode=constant, value=0.0, data_format=NCL)"),
    (
        "nn.ZeroPad2D([1,2,3,4])",
        "ZeroPad2D(padding=[1, 2, 3, 4], mode=constant, value=0.0, data_format=NCHW)",
    ),
    (
        "nn.ZeroPad3D(1)",
        "ZeroPad3D(padding=[1, 1, 1, 1, 1, 1], mode=constant, value=0.0, data_format=NCDHW)",
    ),
    (
        "nn.ConstantPad2D(1,2.0)",
        "ConstantPad2D(padding=[1, 1, 1, 1], mode=constant, value=2.0, data_format=NCHW)",
    ),
    (
        "nn.CircularPad2D(1)",
        "CircularPad2D(padding=[1, 1, 1, 1], mode=circular, value=0.0, data_format=NCHW)",
    ),
    (
        "nn.ReflectionPad1D(1)",
        "ReflectionPad1D(padding=[1, 1], mode=reflect, value=0.0, data_format=NCL)",
    ),
    (
        "nn.ReplicationPad3D(1)",
        "ReplicationPad3D(padding=[1, 1, 1, 1, 1, 1], mode=replicate, value=0.0, data_format=NCDHW)",
    ),
    (
        "nn.Upsample(size=[4,4])",
        "Upsample(size=[4, 4], mode=nearest, align_corners=False, align_mode=0, data_format=None)",
    ),
    (
        'nn.Upsample(scale_factor=2,mode="bilinear",name="k")',
        "Upsample(scale_factor=2, mode=bilinear, align_corners=False, align_mode=0, data_format=None, name=k)",
    ),
    (
        "nn.UpsamplingNearest2D(scale_factor=2)",
        "UpsamplingNearest2D(scale_factor=2, data_format=NCHW)",
    ),
    ("nn.UpsamplingBilinear2D(size=[3,3])", "UpsamplingBilinear2D(size=[3, 3], data_format=NCHW)"),
    ("nn.PixelShuffle(2)", "PixelShuffle(upscale_factor=2)"),
    ("nn.PixelUnshuffle(2)", "PixelUnshuffle(downscale_factor=2)"),
    ("nn.ChannelShuffle(2)", "ChannelShuffle(groups=2)"),
    ('nn.PixelShuffle(2,"NHWC","n")', "PixelShuffle(upscale_factor=2, data_format=NHWC, name=n)"),
    ("nn.Conv1D(4,6,3)", "Conv1D(4, 6, kernel_size=[3], data_format=NCL)"),
    (
        'nn.Conv2D(4,6,(3,5),stride=2,padding="SAME",dilation=1,groups=2,bias_attr=False)',
        "Conv2D(4, 6, kernel_size=[3, 5], stride=[2, 2], padding=SAME, groups=2, data_format=NCHW)",
    ),
    (
        'nn.Conv2D(4,6,3,padding=1,padding_mode="reflect",data_format="NHWC",dilation=2)',
        "Conv2D(4, 6, kernel_size=[3, 3], padding=1, padding_mode=reflect, dilation=[2, 2], data_format=NHWC)",
    ),
    (
        "nn.Conv3D(4,6,3,padding=[1,2,3])",
        "Conv3D(4, 6, kernel_size=[3, 3, 3], padding=[1, 2, 3], data_format=NCDHW)",
    ),
    ("nn.Conv1DTranspose(4,6,3)", "Conv1DTranspose(4, 6, kernel_size=[3], data_format=NCL)"),
    (
        "nn.Conv2DTranspose(4,6,3,output_padding=1,stride=2,groups=2)",
        "Conv2DTranspose(4, 6, kernel_size=[3, 3], stride=[2, 2], output_padding=1, groups=2, data_format=NCHW)",
    ),
    (
        "nn.Conv3DTranspose(4,6,3)",
        "Conv3DTranspose(4, 6, kernel_size=[3, 3, 3], data_format=NCDHW)",
    ),
    ("nn.MaxPool1D(2)", "MaxPool1D(kernel_size=2, stride=None, padding=0)"),
    ("nn.MaxPool2D(2,2,1)", "MaxPool2D(kernel_size=2, stride=2, padding=1)"),
    ("nn.MaxPool3D(2)", "MaxPool3D(kernel_size=2, stride=None, padding=0)"),
    ("nn.AvgPool1D(2)", "AvgPool1D(kernel_size=2, stride=None, padding=0)"),
    ("nn.AvgPool2D([2,3],stride=1)", "AvgPool2D(kernel_size=[2, 3], stride=1, padding=0)"),
    ("nn.AvgPool3D(2)", "AvgPool3D(kernel_size=2, stride=None, padding=0)"),
    ("nn.LPPool1D(2,2)", "LPPool1D(norm_type=2.0, kernel_size=2, stride=None, padding=0)"),
    ("nn.LPPool2D(2,2)", "LPPool2D(norm_type=2.0, kernel_size=2, stride=2, padding=0)"),
    ("nn.AdaptiveAvgPool1D(2)", "AdaptiveAvgPool1D(output_size=2)"),
    ("nn.AdaptiveAvgPool2D([2,None])", "AdaptiveAvgPool2D(output_size=[2, None])"),
    ("nn.AdaptiveAvgPool3D(2)", "AdaptiveAvgPool3D(output_size=2)"),
    ("nn.AdaptiveMaxPool1D(2)", "AdaptiveMaxPool1D(output_size=2, return_mask=False)"),
    ("nn.AdaptiveMaxPool2D(2)", "AdaptiveMaxPool2D(output_size=2, return_mask=False)"),
    ("nn.AdaptiveMaxPool3D(2,True)", "AdaptiveMaxPool3D(output_size=2, return_mask=True)"),
    ("nn.MaxUnPool1D(2)", "MaxUnPool1D(output_size=None)"),
    ("nn.MaxUnPool2D(2)", "MaxUnPool2D(output_size=None)"),
    ("nn.MaxUnPool3D(2)", "MaxUnPool3D(output_size=None)"),
    ("nn.FractionalMaxPool2D(2)", "FractionalMaxPool2D(output_size=2, return_mask=False)"),
    (
        "nn.FractionalMaxPool3D(2,kernel_size=2,random_u=0.3)",
        "FractionalMaxPool3D(output_size=2, return_mask=False)",
    ),
    ("nn.BatchNorm(3)", "BatchNorm()"),
    ('nn.BatchNorm(3,act="relu")', "BatchNorm()"),
    (
        "nn.BatchNorm1D(3)",
        "BatchNorm1D(num_features=3, momentum=0.9, epsilon=1e-05, data_format=NCL)",
    ),
    (
        'nn.BatchNorm2D(3,name="aa")',
        "BatchNorm2D(num_features=3, momentum=0.9, epsilon=1e-05, name=aa)",
    ),
    (
        'nn.BatchNorm2D(3,weight_attr=False,bias_attr=False,data_format="NHWC")',
        "BatchNorm2D(num_features=3, momentum=0.9, epsilon=1e-05, data_format=NHWC)",
    ),
    (
        "nn.BatchNorm3D(3)",
        "BatchNorm3D(num_features=3, momentum=0.9, epsilon=1e-05, data_format=NCDHW)",
    ),
    ("nn.SyncBatchNorm(3)", "SyncBatchNorm(num_features=3, momentum=0.9, epsilon=1e-05)"),
    ("nn.LayerNorm([3,4])", "LayerNorm(normalized_shape=[3, 4], epsilon=1e-05)"),
    ("nn.LayerNorm(3,weight_attr=False)", "LayerNorm(normalized_shape=[3], epsilon=1e-05)"),
    ("nn.GroupNorm(2,4)", "GroupNorm(num_groups=2, num_channels=4, epsilon=1e-05)"),
    ("nn.InstanceNorm1D(3)", "InstanceNorm1D(num_features=3, epsilon=1e-05)"),
    ("nn.InstanceNorm2D(3)", "InstanceNorm2D(num_features=3, epsilon=1e-05)"),
    (
        "nn.InstanceNorm2D(3,weight_attr=False,bias_attr=False)",
        "InstanceNorm2D(num_features=3, epsilon=1e-05)",
    ),
    ("nn.InstanceNorm3D(3)", "InstanceNorm3D(num_features=3, epsilon=1e-05)"),
    ("nn.LocalResponseNorm(3)", "LocalResponseNorm(size=3, alpha=0.0001, beta=0.75, k=1.0)"),
    ("nn.SpectralNorm([2,3,4],dim=1)", "SpectralNorm()"),
    ("nn.SimpleRNNCell(2,3)", "SimpleRNNCell(2, 3)"),
    ("nn.LSTMCell(2,3)", "LSTMCell(2, 3)"),
    ("nn.GRUCell(2,3)", "GRUCell(2, 3)"),
    ("nn.Fold([4,4],2)", "Fold(kernel_size=2, dilation=1, padding=0, stride=1)"),
    ("nn.Unfold(2)", "Unfold(kernel_size=2, dilation=1, padding=0, stride=1)"),
    ("nn.CosineSimilarity()", "CosineSimilarity(axis=1, eps=1e-08)"),
    ("nn.PairwiseDistance()", "PairwiseDistance(p=2.0)"),
    (
        'nn.PairwiseDistance(1.0,1e-3,True,"n")',
        "PairwiseDistance(p=1.0, epsilon=0.001, keepdim=True, name=n)",
    ),
    ("nn.CELU()", "CELU(alpha=1.0)"),
    ("nn.ELU()", "ELU(alpha=1.0)"),
    ("nn.GELU()", "GELU(approximate=False)"),
    ("nn.GELU(True)", "GELU(approximate=True)"),
    ("nn.GLU()", "GLU(axis=-1)"),
    ("nn.Hardshrink()", "Hardshrink(threshold=0.5)"),
    ("nn.Hardsigmoid()", "Hardsigmoid()"),
    ("nn.Hardswish()", "Hardswish()"),
    ("nn.Hardtanh()", "Hardtanh(min=-1.0, max=1.0)"),
    ("nn.LeakyReLU()", "LeakyReLU(negative_slope=0.01)"),
    ("nn.LogSigmoid()", "LogSigmoid()"),
    ("nn.LogSoftmax()", "LogSoftmax(axis=-1)"),
    ("nn.Maxout(2)", "Maxout(groups=2, axis=1)"),
    ("nn.Mish()", "Mish()"),
    ("nn.PReLU()", "PReLU(num_parameters=1, data_format=NCHW, init=0.25, dtype=float32)"),
    ("nn.ReLU()", "ReLU()"),
    ('nn.ReLU(name="a")', "ReLU(name=a)"),
    ("nn.ReLU6()", "ReLU6()"),
    ("nn.RReLU()", "RReLU(lower=0.125, upper=0.3333333333333333, training=True, dtype=float32)"),
    ("nn.SELU()", "SELU(scale=1.0507009873554805, alpha=1.6732632423543772)"),
    ("nn.Sigmoid()", "Sigmoid()"),
    ('nn.Sigmoid("sg")', "Sigmoid(name=sg)"),
    ("nn.Silu()", "Silu(inplace=False)"),
    ("nn.Softmax()", "Softmax(axis=-1)"),
    ('nn.Softmax(1,"n")', "Softmax(axis=1, name=n)"),
    ("nn.Softmax2D()", "Softmax2D()"),
    ("nn.Softplus()", "Softplus(beta=1, threshold=20)"),
    ("nn.Softshrink()", "Softshrink(threshold=0.5)"),
    ("nn.Softsign()", "Softsign()"),
    ("nn.Swish()", "Swish()"),
    ("nn.Tanh()", "Tanh()"),
    ("nn.Tanhshrink()", "Tanhshrink()"),
    ("nn.ThresholdedReLU()", "ThresholdedReLU(threshold=1.0, value=0.0)"),
    ('nn.CELU(2.0,"n")', "CELU(alpha=2.0, name=n)"),
    ('nn.Hardtanh(name="n")', "Hardtanh(min=-1.0, max=1.0, name=n)"),
    ('nn.SELU(name="n")', "SELU(scale=1.0507009873554805, alpha=1.6732632423543772, name=n)"),
    ('nn.GELU(name="n")', "GELU(approximate=False, name=n)"),
    ('nn.Softplus(name="n")', "Softplus(beta=1, threshold=20, name=n)"),
    (
        'nn.RReLU(name="n")',
        "RReLU(lower=0.125, upper=0.3333333333333333, training=True, dtype=float32, name=n)",
    ),
    ('nn.Maxout(2,name="n")', "Maxout(groups=2, axis=1, name=n)"),
    (
        'nn.PReLU(name="n")',
        "PReLU(num_parameters=1, data_format=NCHW, init=0.25, dtype=float32, name=n)",
    ),
    ('nn.GLU(name="n")', "GLU(axis=-1, name=n)"),
    ('nn.ThresholdedReLU(name="n")', "ThresholdedReLU(threshold=1.0, value=0.0, name=n)"),
    ('nn.Tanh(name="n")', "Tanh(name=n)"),
    ("nn.BCELoss()", "BCELoss()"),
    ("nn.BCEWithLogitsLoss()", "BCEWithLogitsLoss()"),
    ("nn.CrossEntropyLoss()", "CrossEntropyLoss()"),
    ("nn.MSELoss()", "MSELoss()"),
    ("nn.L1Loss()", "L1Loss()"),
    ("nn.SmoothL1Loss()", "SmoothL1Loss()"),
    ("nn.NLLLoss()", "NLLLoss()"),
    ("nn.KLDivLoss()", "KLDivLoss()"),
    ("nn.CTCLoss()", "CTCLoss()"),
    ("nn.HSigmoidLoss(3,4)", "HSigmoidLoss()"),
    ("nn.AdaptiveLogSoftmaxWithLoss(8,10,[3,6],div_value=2.0)", "AdaptiveLogSoftmaxWithLoss()"),
    ("nn.MarginRankingLoss()", "MarginRankingLoss()"),
    ("nn.CosineEmbeddingLoss()", "CosineEmbeddingLoss()"),
    ("nn.HingeEmbeddingLoss()", "HingeEmbeddingLoss()"),
    ("nn.TripletMarginLoss()", "TripletMarginLoss()"),
    ("nn.TripletMarginWithDistanceLoss()", "TripletMarginWithDistanceLoss()"),
    ("nn.MultiLabelSoftMarginLoss()", "MultiLabelSoftMarginLoss()"),
    ("nn.MultiLabelMarginLoss()", "MultiLabelMarginLoss()"),
    ("nn.MultiMarginLoss()", "MultiMarginLoss()"),
    ("nn.SoftMarginLoss()", "SoftMarginLoss()"),
    ("nn.PoissonNLLLoss()", "PoissonNLLLoss()"),
    ("nn.GaussianNLLLoss()", "GaussianNLLLoss()"),
    ("nn.RNNTLoss()", "RNNTLoss()"),
]

# (constructor, [(structured name, parameter name, shape)])
PARAMETERS = [
    ("nn.Linear(2,3)", [["weight", "linear_0.w_0", [2, 3]], ["bias", "linear_0.b_0", [3]]]),
    ('nn.Linear(2,3,bias_attr=False,name="q")', [["weight", "linear_0.w_0", [2, 3]]]),
    (
        "nn.Bilinear(2,3,4)",
        [["weight", "bilinear_0.w_0", [4, 2, 3]], ["bias", "bilinear_0.b_0", [1, 4]]],
    ),
    ("nn.Embedding(5,3,padding_idx=-1)", [["weight", "embedding_0.w_0", [5, 3]]]),
    ("nn.Conv1D(4,6,3)", [["weight", "conv1d_0.w_0", [6, 4, 3]], ["bias", "conv1d_0.b_0", [6]]]),
    (
        'nn.Conv2D(4,6,(3,5),stride=2,padding="SAME",dilation=1,groups=2,bias_attr=False)',
        [["weight", "conv2d_0.w_0", [6, 2, 3, 5]]],
    ),
    (
        'nn.Conv2D(4,6,3,padding=1,padding_mode="reflect",data_format="NHWC",dilation=2)',
        [["weight", "conv2d_0.w_0", [6, 4, 3, 3]], ["bias", "conv2d_0.b_0", [6]]],
    ),
    (
        "nn.Conv3D(4,6,3,padding=[1,2,3])",
        [["weight", "conv3d_0.w_0", [6, 4, 3, 3, 3]], ["bias", "conv3d_0.b_0", [6]]],
    ),
    (
        "nn.Conv1DTranspose(4,6,3)",
        [["weight", "conv1d_transpose_0.w_0", [4, 6, 3]], ["bias", "conv1d_transpose_0.b_0", [6]]],
    ),
    (
        "nn.Conv2DTranspose(4,6,3,output_padding=1,stride=2,groups=2)",
        [
            ["weight", "conv2d_transpose_0.w_0", [4, 3, 3, 3]],
            ["bias", "conv2d_transpose_0.b_0", [6]],
        ],
    ),
    (
        "nn.Conv3DTranspose(4,6,3)",
        [
            ["weight", "conv3d_transpose_0.w_0", [4, 6, 3, 3, 3]],
            ["bias", "conv3d_transpose_0.b_0", [6]],
        ],
    ),
    (
        "nn.BatchNorm(3)",
        [
            ["weight", "batch_norm_0.w_0", [3]],
            ["bias", "batch_norm_0.b_0", [3]],
            ["_mean", "batch_norm_0.w_1", [3]],
            ["_variance", "batch_norm_0.w_2", [3]],
        ],
    ),
    (
        'nn.BatchNorm(3,act="relu")',
        [
            ["weight", "batch_norm_0.w_0", [3]],
            ["bias", "batch_norm_0.b_0", [3]],
            ["_mean", "batch_norm_0.w_1", [3]],
            ["_variance", "batch_norm_0.w_2", [3]],
        ],
    ),
    (
        "nn.BatchNorm1D(3)",
        [
            ["weight", "batch_norm1d_0.w_0", [3]],
            ["bias", "batch_norm1d_0.b_0", [3]],
            ["_mean", "batch_norm1d_0.w_1", [3]],
            ["_variance", "batch_norm1d_0.w_2", [3]],
        ],
    ),
    (
        'nn.BatchNorm2D(3,name="aa")',
        [
            ["weight", "batch_norm2d_0.w_0", [3]],
            ["bias", "batch_norm2d_0.b_0", [3]],
            ["_mean", "aa_mean", [3]],
            ["_variance", "aa_variance", [3]],
        ],
    ),
    (
        'nn.BatchNorm2D(3,weight_attr=False,bias_attr=False,data_format="NHWC")',
        [["_mean", "batch_norm2d_0.w_0", [3]], ["_variance", "batch_norm2d_0.w_1", [3]]],
    ),
    (
        "nn.BatchNorm3D(3)",
        [
            ["weight", "batch_norm3d_0.w_0", [3]],
            ["bias", "batch_norm3d_0.b_0", [3]],
            ["_mean", "batch_norm3d_0.w_1", [3]],
            ["_variance", "batch_norm3d_0.w_2", [3]],
        ],
    ),
    (
        "nn.SyncBatchNorm(3)",
        [
            ["weight", "sync_batch_norm_0.w_0", [3]],
            ["bias", "sync_batch_norm_0.b_0", [3]],
            ["_mean", "sync_batch_norm_0.w_1", [3]],
            ["_variance", "sync_batch_norm_0.w_2", [3]],
        ],
    ),
    (
        "nn.LayerNorm([3,4])",
        [["weight", "layer_norm_0.w_0", [12]], ["bias", "layer_norm_0.b_0", [12]]],
    ),
    ("nn.LayerNorm(3,weight_attr=False)", [["bias", "layer_norm_0.b_0", [3]]]),
    ("nn.GroupNorm(2,4)", [["weight", "group_norm_0.w_0", [4]], ["bias", "group_norm_0.b_0", [4]]]),
    (
        "nn.InstanceNorm1D(3)",
        [["scale", "instance_norm1d_0.w_0", [3]], ["bias", "instance_norm1d_0.b_0", [3]]],
    ),
    (
        "nn.InstanceNorm2D(3)",
        [["scale", "instance_norm2d_0.w_0", [3]], ["bias", "instance_norm2d_0.b_0", [3]]],
    ),
    (
        "nn.InstanceNorm3D(3)",
        [["scale", "instance_norm3d_0.w_0", [3]], ["bias", "instance_norm3d_0.b_0", [3]]],
    ),
    (
        "nn.SpectralNorm([2,3,4],dim=1)",
        [["weight_u", "spectral_norm_0.w_0", [3]], ["weight_v", "spectral_norm_0.w_1", [8]]],
    ),
    (
        "nn.SimpleRNNCell(2,3)",
        [
            ["weight_ih", "simple_rnn_cell_0.w_0", [3, 2]],
            ["weight_hh", "simple_rnn_cell_0.w_1", [3, 3]],
            ["bias_ih", "simple_rnn_cell_0.b_0", [3]],
            ["bias_hh", "simple_rnn_cell_0.b_1", [3]],
        ],
    ),
    (
        "nn.LSTMCell(2,3)",
        [
            ["weight_ih", "lstm_cell_0.w_0", [12, 2]],
            ["weight_hh", "lstm_cell_0.w_1", [12, 3]],
            ["bias_ih", "lstm_cell_0.b_0", [12]],
            ["bias_hh", "lstm_cell_0.b_1", [12]],
        ],
    ),
    (
        "nn.GRUCell(2,3)",
        [
            ["weight_ih", "gru_cell_0.w_0", [9, 2]],
            ["weight_hh", "gru_cell_0.w_1", [9, 3]],
            ["bias_ih", "gru_cell_0.b_0", [9]],
            ["bias_hh", "gru_cell_0.b_1", [9]],
        ],
    ),
    (
        "nn.LSTM(2,3,2)",
        [
            ["weight_ih_l0", "lstm_cell_0.w_0", [12, 2]],
            ["weight_hh_l0", "lstm_cell_0.w_1", [12, 3]],
            ["bias_ih_l0", "lstm_cell_0.b_0", [12]],
            ["bias_hh_l0", "lstm_cell_0.b_1", [12]],
            ["weight_ih_l1", "lstm_cell_1.w_0", [12, 3]],
            ["weight_hh_l1", "lstm_cell_1.w_1", [12, 3]],
            ["bias_ih_l1", "lstm_cell_1.b_0", [12]],
            ["bias_hh_l1", "lstm_cell_1.b_1", [12]],
        ],
    ),
    (
        "nn.GRU(2,3,time_major=True)",
        [
            ["weight_ih_l0", "gru_cell_0.w_0", [9, 2]],
            ["weight_hh_l0", "gru_cell_0.w_1", [9, 3]],
            ["bias_ih_l0", "gru_cell_0.b_0", [9]],
            ["bias_hh_l0", "gru_cell_0.b_1", [9]],
        ],
    ),
    (
        "nn.RNN(nn.GRUCell(2,3))",
        [
            ["cell.weight_ih", "gru_cell_0.w_0", [9, 2]],
            ["cell.weight_hh", "gru_cell_0.w_1", [9, 3]],
            ["cell.bias_ih", "gru_cell_0.b_0", [9]],
            ["cell.bias_hh", "gru_cell_0.b_1", [9]],
        ],
    ),
    (
        "nn.BiRNN(nn.GRUCell(2,3),nn.GRUCell(2,3))",
        [
            ["cell_fw.weight_ih", "gru_cell_0.w_0", [9, 2]],
            ["cell_fw.weight_hh", "gru_cell_0.w_1", [9, 3]],
            ["cell_fw.bias_ih", "gru_cell_0.b_0", [9]],
            ["cell_fw.bias_hh", "gru_cell_0.b_1", [9]],
            ["cell_bw.weight_ih", "gru_cell_1.w_0", [9, 2]],
            ["cell_bw.weight_hh", "gru_cell_1.w_1", [9, 3]],
            ["cell_bw.bias_ih", "gru_cell_1.b_0", [9]],
            ["cell_bw.bias_hh", "gru_cell_1.b_1", [9]],
        ],
    ),
    (
        "nn.MultiHeadAttention(4,2)",
        [
            ["q_proj.weight", "linear_0.w_0", [4, 4]],
            ["q_proj.bias", "linear_0.b_0", [4]],
            ["k_proj.weight", "linear_1.w_0", [4, 4]],
            ["k_proj.bias", "linear_1.b_0", [4]],
            ["v_proj.weight", "linear_2.w_0", [4, 4]],
            ["v_proj.bias", "linear_2.b_0", [4]],
            ["out_proj.weight", "linear_3.w_0", [4, 4]],
            ["out_proj.bias", "linear_3.b_0", [4]],
        ],
    ),
    (
        "nn.TransformerEncoderLayer(4,2,8)",
        [
            ["self_attn.q_proj.weight", "linear_0.w_0", [4, 4]],
            ["self_attn.q_proj.bias", "linear_0.b_0", [4]],
            ["self_attn.k_proj.weight", "linear_1.w_0", [4, 4]],
            ["self_attn.k_proj.bias", "linear_1.b_0", [4]],
            ["self_attn.v_proj.weight", "linear_2.w_0", [4, 4]],
            ["self_attn.v_proj.bias", "linear_2.b_0", [4]],
            ["self_attn.out_proj.weight", "linear_3.w_0", [4, 4]],
            ["self_attn.out_proj.bias", "linear_3.b_0", [4]],
            ["linear1.weight", "linear_4.w_0", [4, 8]],
            ["linear1.bias", "linear_4.b_0", [8]],
            ["linear2.weight", "linear_5.w_0", [8, 4]],
            ["linear2.bias", "linear_5.b_0", [4]],
            ["norm1.weight", "layer_norm_0.w_0", [4]],
            ["norm1.bias", "layer_norm_0.b_0", [4]],
            ["norm2.weight", "layer_norm_1.w_0", [4]],
            ["norm2.bias", "layer_norm_1.b_0", [4]],
        ],
    ),
    ("nn.PReLU()", [["_weight", "p_re_lu_0.w_0", [1]]]),
    ('nn.PReLU(name="n")', [["_weight", "p_re_lu_0.w_0", [1]]]),
    (
        "nn.HSigmoidLoss(3,4)",
        [["weight", "h_sigmoid_loss_0.w_0", [3, 3]], ["bias", "h_sigmoid_loss_0.b_0", [3, 1]]],
    ),
    (
        "nn.AdaptiveLogSoftmaxWithLoss(8,10,[3,6],div_value=2.0)",
        [["head_weight", "adaptive_log_softmax_with_loss_0.w_0", [8, 5]]],
    ),
    (
        "nn.Sequential(nn.Linear(2,3),nn.ReLU())",
        [["0.weight", "linear_0.w_0", [2, 3]], ["0.bias", "linear_0.b_0", [3]]],
    ),
    (
        'nn.Sequential(("l1",nn.Linear(2,3)),("l2",nn.ReLU()))',
        [["l1.weight", "linear_0.w_0", [2, 3]], ["l1.bias", "linear_0.b_0", [3]]],
    ),
    (
        "nn.LayerList([nn.Linear(2,3),nn.ReLU()])",
        [["0.weight", "linear_0.w_0", [2, 3]], ["0.bias", "linear_0.b_0", [3]]],
    ),
    (
        'nn.LayerDict({"a":nn.ReLU(),"b":nn.Linear(1,2)})',
        [["b.weight", "linear_0.w_0", [1, 2]], ["b.bias", "linear_0.b_0", [2]]],
    ),
]


def build(code):
    with paddle.utils.unique_name.guard():
        return eval(code, {"nn": nn})


@pytest.mark.parametrize("code, text", TEXTS)
def test_repr(code, text):
    assert repr(build(code)) == text


@pytest.mark.parametrize("code, expected", PARAMETERS)
def test_parameter_names(code, expected):
    found = [[name, p.name, list(p.shape)] for name, p in build(code).named_parameters()]
    assert found == expected


def test_transformer_structured_names():
    names = list(build("nn.TransformerDecoderLayer(4, 2, 8)").state_dict())
    parts = ("q_proj", "k_proj", "v_proj", "out_proj")
    attention = [f"{a}.{p}" for a in ("self_attn", "cross_attn") for p in parts]
    parts = [*attention, "linear1", "linear2", "norm1", "norm2", "norm3"]
    assert names == [f"{p}.{kind}" for p in parts for kind in ("weight", "bias")]


def test_recurrent_structured_names():
    names = list(build("nn.GRU(2, 3, direction='bidirect')").state_dict())
    kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    flat = [f"{k}_l0{d}" for d in ("", "_reverse") for k in kinds]
    assert names == flat + [f"0.{c}.{k}" for c in ("cell_fw", "cell_bw") for k in kinds]
