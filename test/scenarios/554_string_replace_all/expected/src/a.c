#include <stdio.h>

long add(long a, int b)
{
    return a + b;
}

int sub(long a, int b)
{
    return a - b;
}
