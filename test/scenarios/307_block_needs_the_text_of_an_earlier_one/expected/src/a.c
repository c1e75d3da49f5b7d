#include <stdio.h>

int add(int a, int b)
{
    int c = a + b;
    return 2 * c;
}

int sub(int a, int b)
{
    return a - b;
}
