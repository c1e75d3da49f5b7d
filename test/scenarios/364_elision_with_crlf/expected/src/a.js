start();
one();
two();
three();
finish();
last();
