say(“hello”);
end
