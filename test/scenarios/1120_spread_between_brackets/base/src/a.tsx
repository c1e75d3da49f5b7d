const row = (
  <Row
    key={id}
    name={other.name}
    unit={other.unit}
  />
);
const all = concat(
  existing,
  added,
);
const end = () => {
  return merge(previous, {
    done,
  });
};
