const v = 3;
