"""Cells in the text of a layer."""

from argosy import nn


class Sum(nn.RNNCellBase):
    """A cell of a user that keeps its sizes under the names that BiRNN asks for."""

    state_shape = (3,)

    def __init__(self):
        super().__init__()
        self.input_size = self.hidden_size = 3


def test_cells_of_users_have_the_text_of_layers():
    assert repr(Sum()) == "Sum()"
    assert repr(nn.LSTMCell(4, 3)) == "LSTMCell(4, 3)"
    assert repr(nn.GRUCell(4, 3)) == "GRUCell(4, 3)"
    assert repr(nn.SimpleRNNCell(4, 3, "relu")) == "SimpleRNNCell(4, 3, activation=relu)"
