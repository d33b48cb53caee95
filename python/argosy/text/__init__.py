"""Text: decoding of label sequences."""

from argosy.text.viterbi_decode import ViterbiDecoder, viterbi_decode

__all__ = ["ViterbiDecoder", "viterbi_decode"]
