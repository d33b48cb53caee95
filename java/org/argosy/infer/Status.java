package org.argosy.infer;

/** What kind of failure a call of the library reports. */
public enum Status {
  OK,
  /** A wrong value, shape or type; a damaged file. */
  INVALID_ARGUMENT,
  /** There is no such file or name. */
  NOT_FOUND,
  /** Operations of the model are not known; the text names them. */
  NOT_IMPLEMENTED,
  OUT_OF_MEMORY,
  IO,
  /** The call does not fit the state: an input has no value. */
  RUNTIME,
  /** A defect of Argosy. */
  INTERNAL,
  /** This class was compiled for another version of the library. */
  ABI_MISMATCH,
  /** The run takes longer than {@link Config#timeLimit}. */
  TIMEOUT;

  static Status of(int number) {
    final Status[] all = values();
    return number >= 0 && number < all.length ? all[number] : INTERNAL;
  }
}
