begin();
end();
last();
