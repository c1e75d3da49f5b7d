Title
=======
text
