"""Sound features and windows; decoding of label sequences."""

_WINDOWS = [
    *(repr(name) for name in "hann hamming blackman bohman nuttall cosine tukey triang".split()),
    *("'bartlett'", "'taylor'", "('kaiser', 4.0)", "('gaussian', 2.0)", "('tukey', 0.3)"),
    *("('general_gaussian', 1.5, 2.0)", "('exponential', None, 1.0)", "('exponential', 2.5, 1.0)"),
    *("('taylor', 5, 40, False)", "('hann',)", "('tukey', 1.0)", "('tukey', 0.0)"),
    *("'kaiser'", "'gaussian'", "'x'", "3", "'rect'"),
]
_A = "paddle.audio.functional"
_WAVE = "x = T(2, 400);; "
_PATH = "potentials, transitions = T(3, 5, 4, low=0), T(4, 4, low=0, seed=1);; "

CASES = [
    *[f"{_A}.get_window({w}, {n})" for w in _WINDOWS for n in (6, 9)],
    *[f"{_A}.get_window({w}, 6, fftbins=False)" for w in _WINDOWS],
    f"{_A}.get_window('hann', 1)",
    f"{_A}.get_window('hann', 0)",
    f"{_A}.get_window('hann', 8, dtype='float32')",
    *[f"{_A}.hz_to_mel({f}, {h})" for f in ("440.0", "2000.0") for h in (False, True)],
    *[f"{_A}.mel_to_hz({f}, {h})" for f in ("10.0", "20.0") for h in (False, True)],
    f"{_A}.hz_to_mel(paddle.to_tensor([440.0, 2000.0]))",
    f"{_A}.hz_to_mel(paddle.to_tensor([440.0, 2000.0]), True)",
    f"{_A}.mel_to_hz(paddle.to_tensor([1.0, 20.0]))",
    f"{_A}.mel_to_hz(paddle.to_tensor([1.0, 20.0]), True)",
    f"{_A}.mel_frequencies(5)",
    f"{_A}.mel_frequencies(5, 50.0, 4000.0, True, 'float64')",
    f"{_A}.fft_frequencies(16000, 8)",
    f"{_A}.compute_fbank_matrix(8000, 16, 4)",
    f"{_A}.compute_fbank_matrix(8000, 16, 4, htk=True, norm=1.0)",
    f"{_A}.compute_fbank_matrix(8000, 16, 4, f_min=100.0, f_max=3000.0, norm=None, dtype='float64')",
    f"{_A}.power_to_db(paddle.to_tensor([1.0, 0.1, 1e-12]))",
    f"{_A}.power_to_db(paddle.to_tensor([1.0, 0.1, 1e-12]), 2.0, 1e-8, None)",
    f"{_A}.create_dct(3, 5)",
    f"{_A}.create_dct(3, 5, None, 'float64')",
    f"{_A}.create_dct(3, 5, 'x')",
    _WAVE + "paddle.audio.features.Spectrogram(64, 16)(x)",
    _WAVE + "paddle.audio.features.Spectrogram(64, None, 48, ('kaiser', 4.0), 2.0, False)(x)",
    _WAVE + "paddle.audio.features.MelSpectrogram(8000, 64, 16, n_mels=8)(x)",
    _WAVE + "paddle.audio.features.LogMelSpectrogram(8000, 64, n_mels=8, top_db=20.0)(x)",
    _WAVE + "paddle.audio.features.MFCC(8000, 5, 64, n_mels=8, norm=2.0)(x).astype('float16')",
    "paddle.audio.features.MFCC(8000, 9, 64, n_mels=8)",
    "paddle.audio.features.Spectrogram(64, power=0.0)",
    "[(n, b.shape) for n, b in paddle.audio.features.MFCC().named_buffers()]",
    "repr(paddle.audio.features.MFCC())",
    "paddle.audio.backends.list_available_backends()",
    "paddle.audio.backends.get_current_backend()",
    "paddle.audio.backends.set_backend('x')",
    "import io;; b = io.BytesIO();; paddle.audio.save('/tmp/_api_a.wav', T(2, 50), 8000);; paddle.audio.load('/tmp/_api_a.wav')",
    "paddle.audio.save('/tmp/_api_a.wav', T(2, 50), 8000);; vars(paddle.audio.info('/tmp/_api_a.wav'))",
    "paddle.audio.save('/tmp/_api_a.wav', T(2, 50), 8000);; paddle.audio.load('/tmp/_api_a.wav', 10, 20, False, False)",
    "paddle.audio.save('/tmp/_api_a.wav', T(50), 8000)",
    "paddle.audio.save('/tmp/_api_a.wav', T(1, 50), 8000, bits_per_sample=32)",
    "paddle.audio.load('/tmp/_not_there.wav')",
    *[
        f"{_PATH}paddle.text.viterbi_decode(potentials, transitions, paddle.to_tensor({l}), {b})"
        for l in ("[5, 5, 5]", "[5, 2, 1]", "[3, 1, 2]", "[2, 0, 1]", "[0, 0, 1]")  # noqa: E741
        for b in (True, False)
    ],
    _PATH + "paddle.text.ViterbiDecoder(transitions)(potentials, paddle.to_tensor([5, 3, 4]))",
    _PATH + "paddle.text.ViterbiDecoder(transitions).state_dict()",
    _PATH + "paddle.text.viterbi_decode(potentials, T(3, 4), paddle.to_tensor([5, 2, 1]))",
    _PATH + "paddle.text.viterbi_decode(I(3, 5, 4), transitions, paddle.to_tensor([5, 2, 1]))",
    _PATH
    + "static(lambda p, t, n: paddle.text.viterbi_decode(p, t, n)[1], potentials, transitions, paddle.to_tensor([5, 2, 1]))[1]",
]
