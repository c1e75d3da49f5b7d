namespace P
{
    /// <summary>Counts.</summary>
    public class Counter
    {
        private int n;

        /// <summary>Adds.</summary>
        public int Add(int by) => n += by;

        public int Value => n;
    }
}
