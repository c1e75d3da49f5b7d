const v = 1;
