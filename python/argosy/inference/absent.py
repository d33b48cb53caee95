"""Switches of devices and engines that this build does not have."""

from argosy._support import no_effect, unsupported

from .kinds import PrecisionType

_NOT_HERE = "models run on CPUs and NVIDIA GPUs, by kernels of our own; leave it out"


class Absent:
    """The part of Config that asks for what is not here: it raises by name, or answers that it is off.

    Example:
        >>> argosy.inference.Config().use_gpu()
        False
    """

    def use_xpu(self):
        """False.

        Returns:
            bool: False.

        Example:
            >>> argosy.inference.Config().use_xpu()
            False
        """
        return False

    def xpu_device_id(self):
        """0.

        Returns:
            int: 0.

        Example:
            >>> argosy.inference.Config().xpu_device_id()
            0
        """
        return 0

    def xpu_config(self):
        """The settings of an XPU, of which none is used.

        Returns:
            XpuConfig: a new one.

        Example:
            >>> argosy.inference.Config().xpu_config().device_id
            0
        """
        from .xpu_config import XpuConfig

        return XpuConfig()

    def tensorrt_optimization_level(self):
        """3, TensorRT's default; there is no TensorRT here.

        Returns:
            int: 3.

        Example:
            >>> argosy.inference.Config().tensorrt_optimization_level()
            3
        """
        return 3

    def tensorrt_precision_mode(self):
        """Float32.

        Returns:
            PrecisionType: Float32.

        Example:
            >>> argosy.inference.Config().tensorrt_precision_mode().name
            'Float32'
        """
        return PrecisionType.Float32

    def shape_range_info_path(self):
        """An empty text: nothing is collected.

        Returns:
            str: empty.

        Example:
            >>> argosy.inference.Config().shape_range_info_path()
            ''
        """
        return ""

    def disable_onnxruntime(self):
        """ONNX Runtime is not used, with or without this.

        Example:
            >>> argosy.inference.Config().disable_onnxruntime()
        """

    def enable_ort_optimization(self):
        """Has no effect: ONNX Runtime is not used.

        Example:
            >>> argosy.inference.Config.enable_ort_optimization.__name__
            'enable_ort_optimization'
        """
        no_effect("enable_ort_optimization", "ONNX Runtime is not used", enable=(True, False))


def _refusing(name, what):
    def method(self, *args, **kwargs):
        unsupported(f"Config.{name}", _NOT_HERE, **{name: ("called", "not called")})

    method.__name__ = name
    method.__qualname__ = f"Config.{name}"
    method.__doc__ = f"""Not supported: this build has no {what}.

        Args:
            args, kwargs: As Paddle's method takes them.

        Raises:
            NotImplementedError: always.

        Example:
            >>> argosy.inference.Config.{name}.__name__
            '{name}'
        """
    return method


def _false(name, what):
    def method(self):
        return False

    method.__name__ = name
    method.__qualname__ = f"Config.{name}"
    method.__doc__ = f"""False: this build has no {what}.

        Returns:
            bool: False.

        Example:
            >>> argosy.inference.Config().{name}()
            False
        """
    return method


_REFUSED = {
    "CUTLASS": "exp_enable_use_cutlass",
    "sparse convolution of its own for GPUs": "exp_sparse_conv_using_buffer",
    "XPUs": "enable_xpu set_xpu_config set_xpu_device_id",
    "IPUs": "enable_ipu set_ipu_config set_ipu_custom_info load_ipu_config",
    "CINN": "enable_cinn",
    "ONNX Runtime (models in ONNX are loaded as they are)": "enable_onnxruntime",
    "OpenVINO": "enable_openvino_engine",
    "TensorRT": "collect_shape_range_info enable_tensorrt_dla enable_tensorrt_engine"
    " enable_tensorrt_explicit_quantization enable_tensorrt_inspector"
    " enable_tensorrt_memory_optim enable_tensorrt_varseqlen enable_tuned_tensorrt_dynamic_shape"
    " exp_disable_tensorrt_dynamic_shape_ops exp_disable_tensorrt_ops"
    " exp_disable_tensorrt_subgraph exp_specify_tensorrt_subgraph_precision"
    " mark_trt_engine_outputs set_tensorrt_optimization_level set_trt_dynamic_shape_info",
}
_ABSENT = {
    "ONNX Runtime": "onnxruntime_enabled",
    "OpenVINO": "openvino_engine_enabled",
    "TensorRT": "shape_range_info_collected tensorrt_dla_enabled tensorrt_dynamic_shape_enabled"
    " tensorrt_engine_enabled tensorrt_explicit_quantization_enabled tensorrt_inspector_enabled"
    " tensorrt_varseqlen_enabled trt_allow_build_at_runtime tuned_tensorrt_dynamic_shape",
}
for _table, _make in ((_REFUSED, _refusing), (_ABSENT, _false)):
    for _what, _names in _table.items():
        for _name in _names.split():
            setattr(Absent, _name, _make(_name, _what))
