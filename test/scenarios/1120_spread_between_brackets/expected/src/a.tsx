const row = (
  <Row
    key={id}
    {...other}
  />
);
const all =
  [...existing, ...added];
const end = () => {
  return (
    { ...previous, done }
  );
};
