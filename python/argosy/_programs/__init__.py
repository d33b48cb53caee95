"""What everything may know of static Programs: which mode is on, the Programs that calls are added to,
scopes. argosy.static has the Programs themselves."""
