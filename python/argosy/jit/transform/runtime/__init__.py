"""What rewritten functions call. They see it as the closure variable `_argosy_rt`.

Every function here first asks whether a value of a Program decides. If none does, it behaves as the
Python statement or operator that it stands for: same values, same laziness, same exceptions.
"""

from .branches import if_, if_expression, then
from .calls import attr, call, setting, shape, size
from .logic import and_, and_now, assert_, chain, in_, not_, not_in, or_, or_now
from .loops import for_, while_
from .signals import BREAK, CONTINUE, Return, checked, direct, raised, result
from .state import EMPTY, State, defined, read
