// The kernel images as read-only data. GLINT_IMAGE_LIST, written by fatbin.cmake, has one line
// `glint_image SET_NAME, "file"` for each; image_table.cpp sees glint_image_SET_NAME and its end.

    .section .rodata
    .macro glint_image name, file
    .balign 64
    .global glint_image_\name
glint_image_\name:
    .incbin "\file"
    .global glint_image_end_\name
glint_image_end_\name:
    .byte 0
    .endm

#include GLINT_IMAGE_LIST

    .section .note.GNU-stack,"",%progbits
