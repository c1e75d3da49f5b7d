#include <stdio.h>

int add(int a, int b)
{
    return SUM(a, b);
}

int sub(int a, int b)
{
    return a - b;
}
