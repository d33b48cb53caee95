package org.argosy.infer;

import java.nio.charset.StandardCharsets;

/** A failure of the library: its text says what is wrong and what to do. */
public final class ArgosyException extends RuntimeException {
  private static final long serialVersionUID = 1;
  private final Status status;

  // Called by the library: its texts need not be valid UTF-8.
  ArgosyException(int status, byte[] text) {
    super(new String(text, StandardCharsets.UTF_8));
    this.status = Status.of(status);
  }

  public Status status() {
    return status;
  }
}
