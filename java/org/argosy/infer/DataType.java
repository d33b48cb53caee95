package org.argosy.infer;

/** Types of elements. 16-bit floating ones have no counterpart in Java: they are read as bits. */
public enum DataType {
  BOOL(0, 1),
  UINT8(1, 1),
  INT8(2, 1),
  UINT16(3, 2),
  INT16(4, 2),
  UINT32(5, 4),
  INT32(6, 4),
  UINT64(7, 8),
  INT64(8, 8),
  FLOAT16(11, 2),
  BFLOAT16(12, 2),
  FLOAT32(13, 4),
  FLOAT64(14, 8),
  COMPLEX64(15, 8),
  COMPLEX128(16, 16);

  final int number; // of argosy_dtype
  private final int bytes;

  DataType(int number, int bytes) {
    this.number = number;
    this.bytes = bytes;
  }

  /** Bytes of one element. */
  public int bytes() {
    return bytes;
  }

  static DataType of(long number) {
    for (DataType type : values()) {
      if (type.number == number) {
        return type;
      }
    }
    throw new IllegalStateException("there is no data type " + number);
  }
}
