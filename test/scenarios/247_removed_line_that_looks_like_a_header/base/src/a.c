a
-- x
b
