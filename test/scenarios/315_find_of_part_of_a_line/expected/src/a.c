#include <stdio.h>

int add(int a, int b)
{
    x;
}

int sub(int a, int b)
{
    return a - b;
}
