namespace P
{
    /// <summary>Counts.</summary>
    public class Counter
    {
        private int n;

        /// <summary>Adds.</summary>
        [Fast]
        public int Add(int by)
        {
            n += by;
            return n;
        }

        /// <summary>Adds.</summary>
        [Fast]
        public int Add(int by)
        {
            n += by;
            return n;
        }

        public int Value => n;
    }
}
