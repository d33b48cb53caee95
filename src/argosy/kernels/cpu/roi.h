#pragma once

#include <cstdint>

// Pooling of regions of interest, and the columns of deformable convolution. T: float or double.
// Images are [N, C, H, W], regions [R, 4] as x1, y1, x2, y2 in the input's scale, image[r] the
// image of region r, results [R, C', PH, PW].
namespace argosy::cpu {

struct RoiShape {
  int64_t regions, channels, height, width, pooled_height, pooled_width;
  double scale;  // of the regions' coordinates to the image's
};

// Mean of bilinear samples (He et al., arXiv:1703.06870): sampling_ratio^2 of them for each cell,
// or as many as the cell has pixels where it is not positive. aligned: pixel centres are at halves.
template <class T>
void roi_align(const T* x, const T* boxes, const int64_t* image, T* y, const RoiShape& s,
               int64_t sampling_ratio, bool aligned);
// The largest of the samples' four pixels, each times its weight, as ONNX has it; 0 for a cell
// without samples.
template <class T>
void roi_align_max(const T* x, const T* boxes, const int64_t* image, T* y, const RoiShape& s,
                   int64_t sampling_ratio, bool aligned);
// dx is zeroed by the caller.
template <class T>
void roi_align_grad(const T* dy, const T* boxes, const int64_t* image, T* dx, const RoiShape& s,
                    int64_t sampling_ratio, bool aligned);

// Maximum of each cell (Girshick, arXiv:1504.08083) and its place y * W + x, -1 for empty cells.
template <class T>
void roi_pool(const T* x, const T* boxes, const int64_t* image, T* y, int64_t* argmax,
              const RoiShape& s);
template <class T>
void roi_pool_grad(const T* dy, const int64_t* argmax, const int64_t* image, T* dx,
                   const RoiShape& s);

// Mean of each cell in a channel of its own (Dai et al., arXiv:1605.06409): result channel c, cell
// (i, j) is taken from channel (c PH + i) PW + j of s.channels.
template <class T>
void psroi_pool(const T* x, const T* boxes, const int64_t* image, T* y, const RoiShape& s);
template <class T>
void psroi_pool_grad(const T* dy, const T* boxes, const int64_t* image, T* dx, const RoiShape& s);

struct DeformShape {
  int64_t images, channels, height, width, kernel_height, kernel_width, out_height, out_width;
  int64_t stride[2], padding[2], dilation[2], groups;
};

// Columns [N, C kh kw, oh ow] of x sampled at the kernel's places moved by offset [N, 2 groups kh
// kw, oh, ow] (y before x), times mask [N, groups kh kw, oh, ow] if it is not null
// (arXiv:1703.06211, 1811.11168). Outside the image is 0.
template <class T>
void deform_columns(const T* x, const T* offset, const T* mask, T* columns, const DeformShape& s);
// dx is zeroed by the caller; dmask is null without a mask.
template <class T>
void deform_columns_grad(const T* dcolumns, const T* x, const T* offset, const T* mask, T* dx,
                         T* doffset, T* dmask, const DeformShape& s);

// Greedy suppression of boxes [n, 4], best first: kept receives the indices of boxes that overlap
// no kept one by more than threshold (intersection over union); returns their number. extra is 1
// where sizes count pixels; boxes whose coordinates do not meet do not overlap all the same. The
// threshold is multiplied by eta < 1 at each kept box while it is above 0.5.
template <class T>
int64_t suppress(const T* boxes, int64_t n, double threshold, double extra, double eta,
                 int64_t* kept);

}  // namespace argosy::cpu
