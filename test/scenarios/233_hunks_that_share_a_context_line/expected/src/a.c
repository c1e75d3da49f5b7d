#include <stdio.h>

int add(int a, int b)
{
    return b + a;
}
/* */
int sub(int a, int b)
{
    return a - b;
}
