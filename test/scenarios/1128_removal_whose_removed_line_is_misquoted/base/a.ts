keep();
remove();
run();
