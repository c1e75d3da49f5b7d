say(“hello”, 1);
end
