say(“hello”, “me”…);
