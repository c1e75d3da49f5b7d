const v = 2;
