start();
one();
two();
three();
end();
last();
