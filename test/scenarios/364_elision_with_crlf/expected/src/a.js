start();
finish();
last();
