"""base.DataFeedDesc: descriptions of text data, read, changed and printed."""

import pytest

from argosy.base import DataFeedDesc

TEXT = """# click data
name: "MultiSlotDataFeed"
batch_size: 2;
multi_slot_desc {
    slots { name: 'words' type: "uint64" is_dense: false is_used: f shape: [1, 2] }
    slots: < name: "a \\"b\\"" type: "float", is_dense: true >
}
thread_num: 0x10
"""


def feed(tmp_path, text=TEXT):
    path = tmp_path / "feed.prototxt"
    path.write_text(text)
    return DataFeedDesc(str(path))


def test_it_is_changed_and_printed(tmp_path):
    found = feed(tmp_path)
    found.set_batch_size(128)
    found.set_dense_slots(["words"])
    found.set_use_slots(["words", 'a "b"'])
    assert found.desc() == (
        'name: "MultiSlotDataFeed"\nbatch_size: 128\nmulti_slot_desc {\n  slots {\n    name: "words"\n'
        '    type: "uint64"\n    is_dense: true\n    is_used: true\n    shape: 1\n    shape: 2\n  }\n'
        '  slots {\n    name: "a \\"b\\""\n    type: "float"\n    is_dense: true\n    is_used: true\n  }\n}\n'
        'pipe_command: "cat"\nthread_num: 16\n'
    )
    assert feed(tmp_path, found.desc()).desc() == found.desc()
    assert feed(tmp_path, "").desc() == 'pipe_command: "cat"\n'


@pytest.mark.parametrize(
    "text, says",
    [
        ("name: 3", "line 1: expected a string in quotes, got '3'"),
        ('name "x"', "expected ':'"),
        ('name: "x"\nfoo: 3', "line 2: expected one of the fields name, .* got 'foo'"),
        ("multi_slot_desc {", "expected '}', got 'the end'"),
        ('multi_slot_desc { slots { name: "a', "got '\"a'"),
        ("multi_slot_desc: 3", "expected '{', got '3'"),
        ("multi_slot_desc { slots { is_used: maybe } }", "expected true or false, got 'maybe'"),
        ("batch_size: 1.5", "expected a number, got '1.5'"),
        ("multi_slot_desc { slots { shape: [1", "got 'the end'"),
        ("\x00", "expected a field"),
        ("<" * 100000, "expected the name of a field"),
    ],
)
def test_wrong_files(tmp_path, text, says):
    with pytest.raises(ValueError, match=says):
        feed(tmp_path, text)


def test_wrong_calls(tmp_path):
    with pytest.raises(FileNotFoundError):
        DataFeedDesc(str(tmp_path / "none"))
    found = feed(tmp_path)
    with pytest.raises(KeyError, match="no slot .*nope.* expected one of words"):
        found.set_use_slots(["nope"])
    with pytest.raises(TypeError, match="expected an int, got str"):
        found.set_batch_size("many")
    with pytest.raises(ValueError, match="only MultiSlotDataFeed"):
        feed(tmp_path, 'name: "Other"').set_dense_slots(["words"])
