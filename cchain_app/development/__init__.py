"""What a chain to develop against can do beyond others, as values. Pure; who may do it is the caller's business."""
