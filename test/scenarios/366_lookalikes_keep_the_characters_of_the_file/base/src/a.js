say(“hello”, “you”…);
