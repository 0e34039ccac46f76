"""The steps, in their order. A step that was released is never changed: the next one mends it."""
