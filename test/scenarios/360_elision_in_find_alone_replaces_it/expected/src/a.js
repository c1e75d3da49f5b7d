start();
end();
last();
