{
	z();
{
SOMEBODY ELSE
{ // 5
