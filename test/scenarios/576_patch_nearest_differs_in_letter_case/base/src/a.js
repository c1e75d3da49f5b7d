one();
sayHello(name);
two();
