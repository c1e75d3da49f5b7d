begin();
one();
two();
three();
end();
last();
