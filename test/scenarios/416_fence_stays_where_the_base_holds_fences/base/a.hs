-- doc
```
x
```
